/**
 * A thread that does nothing but hash passwords, one after the other, and gives way to whoever else
 * wants its core. How many there are, and who waits for them: `hash-threads.ts`.
 */
import { argon2Sync } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { lowerThreadPriority } from '../kernel/thread-priority.ts'
import type { Derivation } from './hash-threads.ts'

lowerThreadPriority()
parentPort!.on('message', ({ message, ...how }: Derivation) => {
  parentPort!.postMessage(argon2Sync('argon2id', { message, ...how }))
})
