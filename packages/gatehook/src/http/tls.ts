/**
 * The certificate and its key from their files, and again whenever these change (§2.3). A new pair
 * that does not work is logged and the old one kept: a bad renewal must not take the service down.
 */
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Log } from '../kernel/log.ts'

export interface TlsFiles {
  /** PEM, the certificate first, then its chain. */
  readonly certFile: string
  readonly keyFile: string
}

export interface TlsPair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** Throws when a file cannot be read or the key is not the certificate's. */
export function readTls({ certFile, keyFile }: TlsFiles): TlsPair {
  const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
  createSecureContext(pair)
  return pair
}

export interface TlsWatch {
  readonly files: TlsFiles
  /** Given every new pair that works. */
  readonly apply: (pair: TlsPair) => void
  readonly log: Log
  readonly intervalMs?: number
}

const INTERVAL_MS = 1000

/**
 * Looks at both files every second. Polling, because renewals replace files and swap symbolic
 * links, which a watch on the file itself misses. While only one of the two is new the pair does
 * not fit; that is a warning in the log, and the second change puts it right. Returns what ends it.
 */
export function watchTls({ files, apply, log, intervalMs = INTERVAL_MS }: TlsWatch): () => void {
  const changed = () => {
    try {
      apply(readTls(files))
      log.info({ cert: files.certFile }, 'TLS certificate reloaded')
    } catch (err) {
      log.warn({ err, cert: files.certFile }, 'TLS certificate not reloaded, the old one is kept')
    }
  }
  const watched = [files.certFile, files.keyFile]
  let seen = stampsOf(watched)
  const look = () => {
    const now = stampsOf(watched)
    if (now !== seen) changed()
    seen = now
  }
  const timer = setInterval(look, intervalMs).unref()
  return () => clearInterval(timer)
}

/** Another where a file was written or replaced; a missing one is another, too. */
function stampsOf(files: readonly string[]): string {
  const stamp = (file: string) => {
    try {
      const { ino, mtimeMs, size } = statSync(file)
      return `${ino} ${mtimeMs} ${size}`
    } catch {
      return 'none'
    }
  }
  return files.map(stamp).join()
}
