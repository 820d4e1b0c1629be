/** The thread of the engine begins: with what main has compiled, then `engine-worker.ts`. */
import { enableCompileCache } from 'node:module'
import { workerData } from 'node:worker_threads'

const { compiled } = workerData as { compiled: string | undefined }
if (compiled !== undefined) enableCompileCache(compiled)
await import('./engine-worker.ts')
