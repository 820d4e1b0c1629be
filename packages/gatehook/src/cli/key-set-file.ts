/** The option `--jwks FILE`: the public keys of a client or an issuer. */
import { readFileSync } from 'node:fs'
import { UsageError } from './errors.ts'

/** Reads the key set in a file; undefined without the option. The server validates the keys. */
export function keySetOf(file: unknown): unknown {
  if (file === undefined) return undefined
  try {
    return JSON.parse(readFileSync(String(file), 'utf8'))
  } catch {
    throw new UsageError(`--jwks ${file} is no file with JSON.`)
  }
}
