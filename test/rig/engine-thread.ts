/** The thread that `engine-threads.ts` starts: runs the entry of one engine after another. */
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
import type { EngineStart } from './engine-threads.ts'

const main = threads.parentPort!

main.on('message', ({ url, port, workerData }: EngineStart) => {
  Object.assign(threads, { parentPort: port, workerData })
  syncBuiltinESMExports()
  port.once('close', () => main.postMessage('closed')) // not when the thread has crashed
  void import(url)
})
