package notes

// noFollow is nothing on Windows, where making links takes privileges.
const noFollow = 0
