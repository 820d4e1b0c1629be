#!/usr/bin/env node
// The program that npm links as `gatehook`. On an older Node, which can parse this syntax, it prints
// the required version. Otherwise it runs the command line: sources in a checkout, else `dist/`.
'use strict'

const { existsSync } = require('node:fs')
const { join } = require('node:path')

const required = require('../package.json').engines.node.replace(/^>=/, '')
const actual = process.versions.node
const [major, minor] = actual.split('.').map(Number)
const [minMajor, minMinor = 0] = required.split('.').map(Number)

if (major > minMajor || (major === minMajor && minor >= minMinor)) {
  require('./compile-cache.cjs')
  const isCheckout = existsSync(join(__dirname, '../src/cli/main.ts'))
  import(isCheckout ? '../src/cli/main.ts' : '../dist/cli/main.js')
} else {
  process.stderr.write(
    `Gatehook needs Node ${required} or newer; this is Node ${actual} (${process.execPath}).\n` +
      'In a project with the dependency "node": "^26", npm scripts and npx use that version.\n' +
      'To add it: npm install node@26\n',
  )
  process.exitCode = 1
}
