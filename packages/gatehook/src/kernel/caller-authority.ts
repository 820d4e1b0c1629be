/** The rights of the caller of a request, which can end while it waits (decision 0085). */
export interface CallerAuthority {
  /** Whether it was verified so long ago that it may have ended since: a reading of a clock. */
  hasOldAuthority(): boolean
  /** Verifies it again if that is so. Throws `unauthorized` if the caller has lost rights. */
  requireAuthority(): Promise<void>
}
