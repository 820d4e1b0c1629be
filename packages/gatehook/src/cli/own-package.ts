/**
 * This copy of Gatehook as a package: its version, and a tarball for a project whose dependency is
 * not in the registry. An installed package is packed unchanged; a checkout is compiled first.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeFolder } from '../kernel/files.ts'
import { CommandError } from './errors.ts'

/** Folder of the package: `bin/`, `service/`, and `src/` or `dist/`. */
export const PACKAGE: string = realpathSync(fileURLToPath(new URL('../../', import.meta.url)))
const CHECKOUT_PACK = join(PACKAGE, '..', '..', 'build', 'pack.ts')
const NPM = process.platform === 'win32' ? 'npm.cmd' : 'npm'

const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))

export const packageVersion: string = manifest.version
/** The Node versions it runs on: `>=24.7`. */
export const nodeRange: string = manifest.engines.node
/** The oldest of them, the first with `crypto.argon2`: `24.7`. */
export const oldestNode: string = nodeRange.replace(/^>=/, '')

/** Whether Gatehook runs on a version of Node, such as `24.7.0`. */
export function isNodeSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}
/** Whether this copy is a release (`npm run pack -- --registry`), which the registry has. */
export const isPublished: boolean = manifest.isRelease === true

/** Whether the tarball must be compiled first. */
export const isCheckout: boolean = existsSync(join(PACKAGE, 'src'))

/** Folders of a project have the mode that the umask of the user leaves. */
export const PROJECT_MODE = 0o777

/** Writes the tarball into `folder` and returns its name. Throws `CommandError`. */
export function packOwnPackage(folder: string): string {
  makeFolder(folder, PROJECT_MODE)
  const [program, args] = isCheckout
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
