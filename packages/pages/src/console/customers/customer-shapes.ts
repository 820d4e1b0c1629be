/** The JSON of customers in `/admin`. */
import { number, period } from '../../format.ts'
import type { Customer } from '../admin-types.ts'

interface RateLimit {
  readonly limit: number
  readonly window_s: number
}

/** A row of `GET /admin/customers`. */
export type CustomerRow = Customer

/** `600 requests per 60 s`; without an own limit: that of the installation. */
export const limitWords = (limit: RateLimit | null | undefined, noun: string): string =>
  limit ? `${number(limit.limit)} ${noun} per ${period(limit.window_s * 1000)}` : 'default limit'
