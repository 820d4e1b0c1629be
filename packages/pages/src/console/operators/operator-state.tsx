/** The state of an operator in lists and in its drawer. */
import { State } from '../../parts/state.tsx'
import type { OperatorRow } from './operator-shapes.ts'

export const OperatorState = ({ row }: { readonly row: OperatorRow }) =>
  row.disabled ? <State tone="hold">Disabled</State> : <State tone="ok">Active</State>
