/**
 * Packs this very Gatehook into a tarball, for a project whose dependency is not in the registry.
 * An installed package is packed as it is; a checkout is compiled first.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolder } from '../kernel/folder.ts'
import { CommandError } from './mistake.ts'
import { packageVersion } from './version.ts'

/** Of the package: `bin/`, `service/`, and `src/` or `dist/`. */
export const PACKAGE: string = realpathSync(fileURLToPath(new URL('../../', import.meta.url)))
const CHECKOUT_PACK = join(PACKAGE, '..', '..', 'build', 'pack.ts')
const NPM = process.platform === 'win32' ? 'npm.cmd' : 'npm'

/** Writes the tarball into `folder` and returns its name. Throws a `CommandError`. */
export function packEngine(folder: string): string {
  makeFolder(folder)
  const checkout = existsSync(join(PACKAGE, 'src'))
  const [program, args] = checkout
    ? [process.execPath, [CHECKOUT_PACK, 'gatehook', '--out', folder]]
    : [NPM, ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]]
  try {
    execFileSync(program, args, { cwd: PACKAGE, stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: Buffer }
    throw new CommandError(`Gatehook cannot be packed: ${stderr?.toString().trim() || message}`)
  }
  return `gatehook-${packageVersion}.tgz`
}
