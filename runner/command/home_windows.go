package command

const homeVar = "USERPROFILE"
