/** Lowers the scheduling priority of a worker thread below the thread that serves requests. */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'

/** A thread that serves requests gets thirty times the share of a core that both want. */
const NICE = 15

/**
 * Lowers the calling thread's priority. On Linux priorities belong to threads, and the number of
 * this thread is behind a link of the kernel. On other systems all threads keep one priority.
 */
export function giveWay(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), NICE)
  } catch {
    // Another system, or /proc is hidden: the thread competes with requests, which still works.
  }
}
