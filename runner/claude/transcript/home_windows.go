package transcript

const homeVar = "USERPROFILE"

// dontWait is nothing where pipes are no files.
const dontWait = 0
