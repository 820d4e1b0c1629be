/**
 * Makes the hashes of passwords cheap while apps of tests are open: a hash takes 50 ms of a core,
 * and tests sign in two thousand times. Formats, numbers and order of hashes are the same.
 */
import { Worker } from 'node:worker_threads'

/** Argon2 with its least memory, in KiB, and one pass. */
const CHEAP = { memory: 8, passes: 1, parallelism: 1 }

const { postMessage } = Worker.prototype
let users = 0

function postCheaply(this: Worker, message: object): void {
  postMessage.call(this, 'passes' in message ? { ...message, ...CHEAP } : message)
}

/** Makes hashes cheap until the returned function is called as often as this one. */
export function cheapenHashes(): () => void {
  users++
  Worker.prototype.postMessage = postCheaply
  return () => {
    users--
    if (users === 0) Worker.prototype.postMessage = postMessage
  }
}
