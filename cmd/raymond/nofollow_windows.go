package main

// noFollow has no counterpart on Windows, where links take privileges to make.
const noFollow = 0
