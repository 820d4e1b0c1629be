/** The state of a customer in lists and in its drawer. */
import { State } from '../../parts/state.tsx'
import type { CustomerRow } from './customer-shapes.ts'

export const CustomerState = ({ row }: { readonly row: CustomerRow }) =>
  row.suspended ? <State tone="hold">Suspended</State> : <State tone="ok">Active</State>
