package main

// terminalPath is the process's console.
const terminalPath = "CONIN$"
