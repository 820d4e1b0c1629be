#!/usr/bin/env node
// The program that npm links as `gatehook`. It runs the command line: sources in a checkout, else
// `dist/`. On an older Node, which can parse this syntax, it prints the required version. Only
// `init` runs there: the project that it writes brings its own Node.
'use strict'

const { existsSync } = require('node:fs')
const { join } = require('node:path')

const required = require('../package.json').engines.node.replace(/^>=/, '')
const actual = process.versions.node
const isCheckout = existsSync(join(__dirname, '../src/cli/main.ts'))

function isAtLeast(version) {
  const [major, minor] = actual.split('.').map(Number)
  const [minMajor, minMinor = 0] = version.split('.').map(Number)
  return major > minMajor || (major === minMajor && minor >= minMinor)
}

if (isAtLeast(required) || (!isCheckout && process.argv[2] === 'init' && isAtLeast('20.11'))) {
  require('./compile-cache.cjs')
  import(isCheckout ? '../src/cli/main.ts' : '../dist/cli/main.js')
} else {
  process.stderr.write(
    `Gatehook needs Node ${required} or newer; this is Node ${actual} (${process.execPath}).\n` +
      'In a project with the dependency "node": "^26", npm scripts and npx use that version.\n' +
      'To add it: npm install node@26\n',
  )
  // The machine must change: a supervisor does not restart the process.
  process.exitCode = 78
}
