/**
 * The thread that hashes passwords, one after the other, at a lower priority than the threads that
 * serve requests. `hash-threads.ts` starts it.
 */
import { argon2Sync } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import { lowerThreadPriority } from '../../kernel/thread-priority.ts'
import type { Derivation } from './hash-threads.ts'

lowerThreadPriority()
parentPort!.on('message', (derivation: Derivation) => {
  parentPort!.postMessage(argon2Sync('argon2id', derivation))
})
