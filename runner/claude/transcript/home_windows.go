package transcript

const homeVar = "USERPROFILE"
