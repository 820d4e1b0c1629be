/**
 * Whether the files of the certificate can be loaded: with invalid ones, the node goes on with the
 * former pair, and a start fails.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
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

const MESSAGE =
  'The files of the certificate cannot be loaded: the node goes on with the former ones, and its ' +
  'next start would fail. Correct them; nodes load them within 2 s.'

/** `files` is undefined if another program terminates TLS. */
export const createTlsFileCheck = (
  files: TlsFiles | undefined,
  options: FigureWatchOptions,
): FigureWatch =>
  watchFigure(options, {
    read: () => files && { fault: findTlsFault(files) },
    describe: ({ fault }) => fault && { message: MESSAGE, detail: `${fault} ${MESSAGE}` },
    gauges: [
      [
        'gatehook_tls_files_invalid',
        '1 while the files of the certificate cannot be loaded; only with GATEHOOK_TLS_CERT.',
        ({ fault }) => (fault === undefined ? 0 : 1),
      ],
    ],
  })
