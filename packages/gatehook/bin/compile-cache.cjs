// Keeps what was compiled for the next start, on this thread and on those it starts: from the source
// a start then takes two thirds of the CPU, and the type stripper, 14 MB a thread, is not loaded.
// Whatever begins a process requires it first; in plain JavaScript, or it would be stripped itself.
'use strict'

const { enableCompileCache } = require('node:module')
const { homedir } = require('node:os')
const { join } = require('node:path')

// In the home: in the folder for everybody that node would take, somebody else could put code
// before we do. Where it cannot be written, nothing is kept and nothing is said.
process.env.NODE_COMPILE_CACHE ??= join(homedir(), '.cache', 'gatehook')
enableCompileCache()
