/** The state of an object, with its shape. */
import { State } from '../parts/state.tsx'
import type { ListedObject } from './row-columns.ts'
import { stateOf } from './state-words.ts'

interface RowStateProps {
  readonly of: ListedObject
  readonly row: object
}

export const RowState = ({ of: object, row }: RowStateProps) => {
  const [tone, word] = stateOf(object, row)
  return <State tone={tone}>{word}</State>
}
