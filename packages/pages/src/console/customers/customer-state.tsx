/** The state of a customer in lists and in its drawer. */
import { number } from '../../format.ts'
import { State } from '../../parts/state.tsx'
import type { CustomerRow } from './customer-shapes.ts'

export const CustomerState = ({ row }: { readonly row: CustomerRow }) =>
  row.deleting_since !== null ? (
    <State tone="hold">Deleting, {number(row.deleted_rows)} rows so far</State>
  ) : row.suspended ? (
    <State tone="hold">Suspended</State>
  ) : (
    <State tone="ok">Active</State>
  )
