/** The JSON of customers in `/admin`. */
import type { Customer } from '../admin-types.ts'

/** A row of `GET /admin/customers`. */
export type CustomerRow = Customer
