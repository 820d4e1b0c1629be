/** The folder of databases that need no durability: in memory where Linux has enough of it. */
import { readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
/** A whole run needs less than 1 GB of files. */
const FREE_BYTES_MIN = 4e9
/** Memory that must be available, so that the files do not push out programs. */
const AVAILABLE_BYTES_MIN = 8e9

/** Returns the folder in memory, or that of temporary files. */
export function folderOfDatabases(): string {
  return hasRoom() ? MEMORY : tmpdir()
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    const [, availableKb] = /MemAvailable:\s+(\d+) kB/.exec(readFileSync('/proc/meminfo', 'utf8'))!
    return bavail * bsize > FREE_BYTES_MIN && Number(availableKb) * 1024 > AVAILABLE_BYTES_MIN
  } catch {
    return false // another system
  }
}
