package claude

const homeVar = "USERPROFILE"
