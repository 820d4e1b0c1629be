/** Scheduling priority of worker threads. */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'

/** Gives a thread at normal priority about thirty times the CPU share of this one. */
const NICE = 15

/**
 * Lowers the priority of the calling thread below the thread that serves requests. On Linux,
 * priorities belong to threads, and `/proc/thread-self` links to the id of this thread. On other
 * systems, the priority stays as it is.
 */
export function lowerThreadPriority(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICE)
  } catch {
    // Another system, or /proc is hidden.
  }
}
