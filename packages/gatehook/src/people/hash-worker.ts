/**
 * A thread that does nothing but hash passwords, one after the other, and gives way to whoever else
 * wants its core. How many there are, and who waits for them: `hash-threads.ts`.
 */
import { argon2Sync } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'
import type { Derivation } from './hash-threads.ts'

/** A thread that serves requests gets thirty times its share of a core both want. */
const NICE = 15

/**
 * On Linux priorities are threads' own, and this thread's number is behind a link of the kernel's.
 * Where that is not so, all threads stay alike.
 */
function giveWay(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICE)
  } catch {
    // Another system, or /proc is hidden: hashing then competes with requests, which still works.
  }
}

giveWay()
parentPort!.on('message', ({ message, ...how }: Derivation) => {
  parentPort!.postMessage(argon2Sync('argon2id', { message, ...how }))
})
