/**
 * The files of the master secret beside a SQLite database: `secret.key`, and `secret.key.previous`
 * while a rotation is under way. A crash at any moment leaves every secret that is needed in one of
 * them. Which secret encrypts is stored in the database (`secrets/`).
 */
import {
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Random } from '../kernel/random.ts'
import { keyIdOf } from '../kernel/secret.ts'
import { ConfigError } from './config.ts'
import { reasonOf } from './file-errors.ts'
import { options } from './options.ts'

const SECRET_BYTES = 32

export const previousOf = (file: string): string => `${file}.previous`
const draftOf = (file: string): string => `${file}.next`

/** Undefined where there is no such file. Throws a `ConfigError` when it does not hold a secret. */
function readSecret(file: string): string | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new ConfigError([`The master secret ${file} cannot be used: ${reasonOf(error)}.`])
  }
  const secret = options.secretKey.kind.parse(text)
  if (secret !== undefined) return secret
  const expects = options.secretKey.kind.expects
  throw new ConfigError([`${file} holds ${text.length} characters; expected ${expects}.`])
}

/** The secrets in the files, the newest first; undefined where there is no `secret.key`. */
export function readSecretFiles(file: string): readonly string[] | undefined {
  const newest = readSecret(file)
  if (newest === undefined) return undefined
  const previous = readSecret(previousOf(file))
  return previous === undefined || previous === newest ? [newest] : [newest, previous]
}

/** Creates the secret of a new installation; of several processes at once, one creates it. */
export function createSecretFile(file: string, random: Random): readonly string[] {
  const draft = `${file}.${random.bytes(8).toString('hex')}`
  try {
    writeDraft(draft, random)
    try {
      // A link appears whole or not at all, and fails where another process was faster.
      linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      rmSync(draft, { force: true })
    }
    syncFolder(dirname(file))
  } catch (error) {
    throw new ConfigError([`The master secret ${file} cannot be used: ${reasonOf(error)}.`])
  }
  return readSecretFiles(file)!
}

function writeDraft(draft: string, random: Random): string {
  const secret = random.bytes(SECRET_BYTES).toString('base64url')
  const fd = openSync(draft, 'wx', 0o600)
  try {
    writeSync(fd, `${secret}\n`)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  return secret
}

/**
 * Replaces the secret with id `keyId`, which the database is encrypted under, by a new one, and
 * keeps it as `secret.key.previous`. Where a crash interrupted that, completes it. Only one process
 * may run it at a time. Gives the secrets, the new one first.
 */
export function replaceSecretFile(file: string, keyId: string, random: Random): readonly string[] {
  const secrets = readSecretFiles(file) ?? []
  const [newest] = secrets
  if (!secrets.some((secret) => keyIdOf(secret) === keyId)) {
    throw new ConfigError([`The master secret ${file} was replaced meanwhile; run this again.`])
  }
  if (newest === undefined || keyIdOf(newest) !== keyId) return secrets
  const draft = draftOf(file)
  rmSync(draft, { force: true })
  const secret = writeDraft(draft, random)
  keepOwner(file, draft)
  rmSync(previousOf(file), { force: true })
  linkSync(file, previousOf(file))
  syncFolder(dirname(file))
  renameSync(draft, file)
  syncFolder(dirname(file))
  return [secret, newest]
}

/** The service must be able to read what root has written for it. */
function keepOwner(file: string, draft: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(file)
  chownSync(draft, uid, gid)
}

/** Nothing is encrypted under the previous secret any more. */
export function removePreviousSecret(file: string): void {
  rmSync(previousOf(file), { force: true })
  syncFolder(dirname(file))
}

/**
 * The new name itself must survive a power cut, or rows encrypted with the secret would outlive it.
 */
function syncFolder(folder: string): void {
  let fd: number
  try {
    fd = openSync(folder, 'r')
  } catch {
    return // Windows opens no folders, and makes names durable by itself.
  }
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
