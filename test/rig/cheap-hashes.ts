/**
 * Makes the hashes of passwords and the keys of RSA cheap while apps of tests are open: each takes
 * 50 ms of a core, and tests sign in and start apps two thousand times. Formats, numbers and order
 * are the same; apps of a process share one key of RSA.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'
import { type Transferable, Worker } from 'node:worker_threads'

/** Argon2 with its least memory, in KiB, and one pass. */
const CHEAP = { memory: 8, passes: 1, parallelism: 1 }

const { postMessage } = Worker.prototype
const { generateKeyPair } = crypto
const generate = promisify(generateKeyPair) as (type: string, options: object) => Promise<unknown>
let rsa: Promise<unknown> | undefined
let users = 0

function postCheaply(this: Worker, message: object, transferred?: Transferable[]): void {
  postMessage.call(this, 'passes' in message ? { ...message, ...CHEAP } : message, transferred)
}

function generateOnce(type: string, options: object): Promise<unknown> {
  if (type !== 'rsa') return generate(type, options)
  rsa ??= generate(type, options)
  return rsa
}

function replaceGenerator(generator: object): void {
  crypto.generateKeyPair = generator as typeof generateKeyPair
  syncBuiltinESMExports()
}

/** Makes both cheap until the returned function is called as often as this one. */
export function cheapenHashes(): () => void {
  users++
  Worker.prototype.postMessage = postCheaply
  if (users === 1) replaceGenerator(Object.assign(() => {}, { [promisify.custom]: generateOnce }))
  return () => {
    users--
    if (users > 0) return
    Worker.prototype.postMessage = postMessage
    replaceGenerator(generateKeyPair)
  }
}
