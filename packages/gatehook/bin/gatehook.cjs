#!/usr/bin/env node
// The program npm links as `gatehook`. An older Node is told which one is needed, in syntax it can
// read. With a new one the command line runs: from the sources in a checkout, compiled in a package.
'use strict'

const { existsSync } = require('node:fs')
const { join } = require('node:path')

const needed = require('../package.json').engines.node.replace(/^>=/, '')
const found = process.versions.node
const [major, minor] = found.split('.').map(Number)
const [leastMajor, leastMinor = 0] = needed.split('.').map(Number)

if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) {
  require('./compile-cache.cjs')
  const checkout = existsSync(join(__dirname, '../src/cli/main.ts'))
  import(checkout ? '../src/cli/main.ts' : '../dist/cli/main.js')
} else {
  process.stderr.write(
    `Gatehook needs Node ${needed} or newer; this is Node ${found} (${process.execPath}).\n` +
      'In a project with "node": "^26" among its dependencies, npm scripts and npx use that ' +
      'one.\nTo add it: npm install node@26\n',
  )
  process.exitCode = 1
}
