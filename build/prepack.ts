/**
 * Runs before `npm pack` and `npm publish` in a package's folder: builds the package and replaces
 * `package.json` by the published manifest. With `--restore`, runs afterwards and restores it.
 */
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildPackage } from './build.ts'
import { publishedManifest, readPackage, root } from './packages.ts'

const folder = process.cwd()
const manifest = join(folder, 'package.json')
const original = join(folder, '.package.json.checkout')
const license = join(folder, 'LICENSE')

/** Also cleans up after an interrupted pack. */
function restore(): void {
  if (existsSync(original)) renameSync(original, manifest)
  rmSync(license, { force: true })
}

restore()
if (!process.argv.includes('--restore')) {
  const unit = readPackage(folder)
  buildPackage(unit)
  const published = publishedManifest(unit, process.env.npm_command === 'publish')
  copyFileSync(manifest, original)
  copyFileSync(join(root, 'LICENSE'), license)
  writeFileSync(manifest, `${JSON.stringify(published, null, 2)}\n`)
}
