/**
 * `npm install` runs this (`prepare`): enables the Git hooks and builds the pages. Without the
 * development dependencies (`npm ci --omit=dev`) it builds nothing.
 */
const { spawnSync } = require('node:child_process')
const { existsSync } = require('node:fs')
const { join } = require('node:path')

require('./git-hooks/enable.cjs')

const isInstalled = (name) => existsSync(join(__dirname, '..', 'node_modules', name))

if (['vite', 'preact', '@preact/signals'].every(isInstalled)) {
  const words = [join(__dirname, 'pages.ts')]
  const { status } = spawnSync(process.execPath, words, { stdio: 'inherit' })
  process.exitCode = status ?? 1
}
