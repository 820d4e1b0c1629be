/**
 * Whether the files of the certificate can be loaded: with invalid ones, the node goes on with the
 * former pair, and a start fails.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { describeFileError } from '../../kernel/files.ts'
import { readTls, type TlsFiles } from '../../protocol/http/tls.ts'
import { type FigureWatch, type FigureWatchOptions, watchFigure } from './watched-figure.ts'

/** Reads a file, and parses it. Returns a sentence if either fails. */
function load<T>(variable: string, file: string, parse: (pem: Buffer) => T, kind: string) {
  let pem: Buffer
  try {
    pem = readFileSync(file)
  } catch (error) {
    return `${variable}: ${file} cannot be read: ${describeFileError(error)}.`
  }
  try {
    return parse(pem)
  } catch {
    return `${variable}: ${file} is no ${kind} in PEM.`
  }
}

/** Returns a sentence with the first file that cannot be used; undefined for a valid pair. */
export function findTlsFault(files: TlsFiles): string | undefined {
  const { certFile, keyFile } = files
  const parseCertificate = (pem: Buffer) => new X509Certificate(pem)
  const cert = load('GATEHOOK_TLS_CERT', certFile, parseCertificate, 'certificate')
  if (typeof cert === 'string') return cert
  const parseKey = (pem: Buffer): KeyObject => createPrivateKey(pem)
  const key = load('GATEHOOK_TLS_KEY', keyFile, parseKey, 'private key without a passphrase')
  if (typeof key === 'string') return key
  if (!cert.checkPrivateKey(key)) {
    return `The key ${keyFile} (GATEHOOK_TLS_KEY) is not that of the certificate ${certFile}.`
  }
  try {
    readTls(files)
    return undefined
  } catch (error) {
    return `${certFile} and ${keyFile} cannot be used: ${(error as Error).message}.`
  }
}

/** Returns `findTlsFault` of files, which are parsed once after each change. */
function createFaultReader(files: TlsFiles): () => string | undefined {
  let last: { readonly state: string; readonly fault: string | undefined } | undefined
  const stateOf = (file: string) => {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file)
    return [ino, size, mtimeMs, ctimeMs]
  }
  const readState = (): string | undefined => {
    try {
      return JSON.stringify([stateOf(files.certFile), stateOf(files.keyFile)])
    } catch {
      return undefined
    }
  }
  return () => {
    const state = readState()
    if (state === undefined) return findTlsFault(files)
    if (last?.state !== state) last = { state, fault: findTlsFault(files) }
    return last.fault
  }
}

const MESSAGE =
  'The files of the certificate cannot be loaded: the node goes on with the former ones, and its ' +
  'next start would fail. Correct them; nodes load them within 2 s.'

/** `files` is undefined if another program terminates TLS. */
export function createTlsFileCheck(
  files: TlsFiles | undefined,
  options: FigureWatchOptions,
): FigureWatch {
  const readFault = files && createFaultReader(files)
  return watchFigure(options, {
    read: () => readFault && { fault: readFault() },
    describe: ({ fault }) => fault && { message: MESSAGE, detail: `${fault} ${MESSAGE}` },
    gauges: [
      [
        'gatehook_tls_files_invalid',
        '1 while the files of the certificate cannot be loaded; only with GATEHOOK_TLS_CERT.',
        ({ fault }) => (fault === undefined ? 0 : 1),
      ],
    ],
  })
}
