// Enables the compile cache for this thread and the threads it starts. In a checkout, a start then
// takes two thirds of the CPU and does not load the type stripper (14 MB per thread). Plain
// JavaScript, and the first file of a process, so that no file before it needs the type stripper.
'use strict'

const { enableCompileCache } = require('node:module')
const { homedir } = require('node:os')
const { join } = require('node:path')

// In the home folder: in Node's default folder, which users share, another user could place code.
// If the folder is not writable, Node starts without a cache; Node 20 has none.
process.env.NODE_COMPILE_CACHE ??= join(homedir(), '.cache', 'gatehook')
enableCompileCache?.()
