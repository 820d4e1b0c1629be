/**
 * The certificate and its key from their files, and again whenever these change (§2.3). A new pair
 * that does not work is logged and the old one kept: a bad renewal must not take the service down.
 */

import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { startInterval } from '../kernel/interval.ts'
import type { Log } from '../kernel/log.ts'

export interface TlsFiles {
  /** PEM, the certificate first, then its chain. */
  readonly certFile: string
  readonly keyFile: string
}

/**
 * TLS 1.2 and 1.3 with forward secrecy and authenticated encryption only (RFC 9325 §4.2). Node's
 * own list ends in CBC suites and in key exchange without forward secrecy.
 */
const PROTOCOL = {
  minVersion: 'TLSv1.2',
  ciphers: [
    ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
    ...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
    ...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
    ...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ].join(':'),
} as const

/** What a server is given; a new certificate replaces the protocol settings, too. */
export interface TlsPair extends Readonly<typeof PROTOCOL> {
  readonly cert: Buffer
  readonly key: Buffer
}

/** Throws when a file cannot be read or the key is not the certificate's. */
export function readTls({ certFile, keyFile }: TlsFiles): TlsPair {
  const pair = { ...PROTOCOL, cert: readFileSync(certFile), key: readFileSync(keyFile) }
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
export function watchTls({ files, apply, log, intervalMs = INTERVAL_MS }: TlsWatch) {
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
  const run = () => {
    const now = stampsOf(watched)
    if (now !== seen) changed()
    seen = now
  }
  return startInterval({ intervalMs, run, log, failure: 'TLS files could not be checked' })
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
