/**
 * Reads the TLS certificate and its key, and reloads them when their files change (§2.3). An
 * invalid new pair is logged, and the server continues with the old one.
 */

import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'

export interface TlsFiles {
  /** PEM: the certificate, then its chain. */
  readonly certFile: string
  readonly keyFile: string
}

/**
 * TLS 1.2 and 1.3 with forward secrecy and authenticated encryption only (RFC 9325 §4.2). Node's
 * default list also contains CBC suites and key exchange without forward secrecy.
 */
const PROTOCOL = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'TLS_AES_128_GCM_SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
  ].join(':'),
} as const

/** The TLS options of a server. A new certificate replaces the protocol settings as well. */
export interface TlsPair extends Readonly<typeof PROTOCOL> {
  readonly cert: Buffer
  readonly key: Buffer
}

/**
 * Reads and validates a pair.
 *
 * @throws {Error} A file cannot be read, or the key does not match the certificate.
 */
export function readTls({ certFile, keyFile }: TlsFiles): TlsPair {
  const pair = { ...PROTOCOL, cert: readFileSync(certFile), key: readFileSync(keyFile) }
  createSecureContext(pair)
  return pair
}

interface TlsWatch {
  readonly files: TlsFiles
  /** Receives every valid new pair. */
  readonly apply: (pair: TlsPair) => void
  readonly log: Log
  readonly intervalMs?: number
}

const INTERVAL_MS = 1000

/**
 * Checks both files every second. It polls, because a file watch misses replaced files and symbolic
 * links. While only one file is new, the pair is invalid: that logs a warning, and the second
 * change corrects it. An invalid pair is read again each time: new rights of a file do not change
 * its stamp.
 *
 * @returns Stops watching.
 */
export function watchTls({ files, apply, log, intervalMs = INTERVAL_MS }: TlsWatch) {
  const watchedFiles = [files.certFile, files.keyFile]
  let loadedStamps = stampsOf(watchedFiles)
  let loggedFailure: string | undefined
  const reload = (stamps: string) => {
    try {
      apply(readTls(files))
      loadedStamps = stamps
      loggedFailure = undefined
      log.info({ cert: files.certFile }, 'TLS certificate reloaded')
    } catch (err) {
      const failure = `${stamps} ${(err as Error).message}`
      if (failure === loggedFailure) return
      loggedFailure = failure
      log.warn(
        { err, cert: files.certFile },
        'TLS certificate not reloaded; the old one stays in use',
      )
    }
  }
  const run = () => {
    const stamps = stampsOf(watchedFiles)
    if (stamps !== loadedStamps) reload(stamps)
  }
  return startInterval({ intervalMs, run, log, failure: 'TLS files could not be checked' })
}

/** Returns a text that changes when a file is written, replaced, created or removed. */
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
