/**
 * The thread that hashes passwords, one after the other. It has a lower priority than the threads
 * that serve requests, unless other programs use every core. `hash-threads.ts` starts it.
 */
import { argon2Sync } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { wallClock } from '../../kernel/clock.ts'
import { lowerThreadPriority } from '../../kernel/thread-priority.ts'
import type { Derivation, HashResult, HashThreadData } from './hash-threads.ts'

const { isLow }: HashThreadData = workerData
if (isLow) lowerThreadPriority()
parentPort!.on('message', (derivation: Derivation) => {
  const [fromMs, fromCpu] = [wallClock.elapsedMs(), process.threadCpuUsage()]
  const hash = argon2Sync('argon2id', derivation)
  const { user, system } = process.threadCpuUsage(fromCpu)
  const elapsedMs = wallClock.elapsedMs() - fromMs
  const result: HashResult = { hash, elapsedMs, cpuMs: (user + system) / 1_000 }
  parentPort!.postMessage(result)
})
