/**
 * The files of the master secret beside a SQLite database: `secret.key`, and `secret.key.previous`
 * during a rotation. After a crash at any moment, they contain every secret that is needed: no row
 * outlives the secret that encrypted it. The database stores which secret encrypts
 * (`platform/secrets/`).
 */
import { chownSync, linkSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { createPrivateFile, describeFileError, syncFolder } from '../../kernel/files.ts'
import type { Random } from '../../kernel/random.ts'
import { keyIdOf } from '../../kernel/secret.ts'
import { ConfigError } from './config.ts'
import { options } from './options.ts'

const SECRET_BYTES = 32

const previousFile = (file: string): string => `${file}.previous`
const draftFile = (file: string): string => `${file}.next`

/** Reads a secret; undefined without the file. Throws a `ConfigError` if it contains no secret. */
function readSecret(file: string): string | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new ConfigError([
      `The master secret ${file} cannot be used: ${describeFileError(error)}.`,
    ])
  }
  const secret = options.secretKey.kind.parse(text)
  if (secret !== undefined) return secret
  const expects = options.secretKey.kind.expects
  throw new ConfigError([`${file} contains ${text.length} characters; expected ${expects}.`])
}

/** Reads the secrets, the newest first; undefined without `secret.key`. */
export function readSecretFiles(file: string): readonly string[] | undefined {
  const newest = readSecret(file)
  if (newest === undefined) return undefined
  const previous = readSecret(previousFile(file))
  return previous === undefined || previous === newest ? [newest] : [newest, previous]
}

/** Creates the secret of a new installation. Of several concurrent processes, one creates it. */
export function createSecretFile(file: string, random: Random): readonly string[] {
  const draft = `${file}.${random.bytes(8).toString('hex')}`
  try {
    writeDraft(draft, random)
    try {
      // A link is atomic, and fails if another process has created the file.
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      rmSync(draft, { force: true })
    }
    syncFolder(dirname(file))
  } catch (error) {
    throw new ConfigError([
      `The master secret ${file} cannot be used: ${describeFileError(error)}.`,
    ])
  }
  return readSecretFiles(file)!
}

function writeDraft(draft: string, random: Random): string {
  const secret = random.bytes(SECRET_BYTES).toString('base64url')
  createPrivateFile(draft, `${secret}\n`)
  return secret
}

/**
 * Replaces the secret with id `keyId`, which encrypts the database, by a new one and retains it as
 * `secret.key.previous`. Completes a replacement that a crash interrupted. Only one process may run
 * it at a time.
 *
 * @returns The secrets, the new one first.
 */
export function replaceSecretFile(file: string, keyId: string, random: Random): readonly string[] {
  const secrets = readSecretFiles(file) ?? []
  const [newest] = secrets
  if (!secrets.some((secret) => keyIdOf(secret) === keyId)) {
    throw new ConfigError([`The master secret ${file} was replaced meanwhile; rerun the command.`])
  }
  if (newest === undefined || keyIdOf(newest) !== keyId) return secrets
  const draft = draftFile(file)
  rmSync(draft, { force: true })
  const secret = writeDraft(draft, random)
  copyOwner(file, draft)
  rmSync(previousFile(file), { force: true })
  linkSync(file, previousFile(file))
  syncFolder(dirname(file))
  renameSync(draft, file)
  syncFolder(dirname(file))
  return [secret, newest]
}

/** Makes a file that root has written readable for the service. */
function copyOwner(file: string, draft: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(file)
  chownSync(draft, uid, gid)
}

/** Removes the previous secret, after every value was encrypted under the new one. */
export function removePreviousSecret(file: string): void {
  rmSync(previousFile(file), { force: true })
  syncFolder(dirname(file))
}
