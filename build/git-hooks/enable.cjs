/**
 * Makes this folder the folder of Git hooks of a checkout. `npm install` runs it (`prepare`). Does
 * nothing in CI, outside a checkout or without Git.
 */
const { spawnSync } = require('node:child_process')
const { existsSync } = require('node:fs')

if (existsSync('.git') && !process.env.CI) {
  spawnSync('git', ['config', 'core.hooksPath', 'build/git-hooks'])
}
