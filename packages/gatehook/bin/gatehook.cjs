#!/usr/bin/env node
// The program npm links as `gatehook`: an older Node is told in words which one is needed, in
// syntax it can read; with a new one, src/cli/main.ts runs.
'use strict'

const needed = Number(/\d+/.exec(require('../package.json').engines.node)[0])
const found = process.versions.node

if (Number.parseInt(found, 10) >= needed) {
  require('./compile-cache.cjs')
  import('../src/cli/main.ts')
} else {
  process.stderr.write(
    `Gatehook needs Node ${needed}; this is Node ${found} (${process.execPath}).\n` +
      `In a project with "node": "^${needed}" among its dependencies, npm scripts and npx use that ` +
      `one.\nTo add it: npm install node@${needed}\n`,
  )
  process.exitCode = 1
}
