/** The names of the rows to which references of a page refer, one request for each collection. */
import { useEffect, useState } from 'preact/hooks'
import { ApiFailure, get } from '../../api.ts'
import type { CursorPage } from '../../list-page.ts'
import { type DataRow, type DataScope, type Overview, rowsPath } from './resource-shapes.ts'

/** Values of one filter that the API accepts. */
const MAX_IDS = 100

/** Returns the name of a referenced row; undefined until it is loaded, or without one. */
export type NameOfReference = (collection: string, id: unknown) => string | undefined

interface ReferenceRequest {
  readonly collection: string
  readonly label: string
  readonly ids: readonly DataRow['id'][]
}

export const isId = (value: unknown): value is DataRow['id'] =>
  typeof value === 'number' || typeof value === 'string'

const compareIds = (left: DataRow['id'], right: DataRow['id']): number => (left < right ? -1 : 1)

function requestsOf(
  { resources }: Overview,
  name: string,
  rows: readonly DataRow[],
): ReferenceRequest[] {
  const { fields } = resources.find((resource) => resource.name === name)!
  return fields.flatMap(({ name: field, of }) => {
    const target = resources.find((resource) => resource.name === of)
    if (!target?.label || !target.filter.includes('id')) return []
    const values = rows.map((row) => row[field]).filter(isId)
    const ids = [...new Set(values)].sort(compareIds).slice(0, MAX_IDS)
    return ids.length > 0 ? [{ collection: target.name, label: target.label, ids }] : []
  })
}

/** Loads the names for rows of a collection. Without them the page displays ids. */
export function useReferences(
  scope: DataScope,
  overview: Overview,
  name: string,
  rows: readonly DataRow[],
): NameOfReference {
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map())
  const requests = requestsOf(overview, name, rows)
  const key = JSON.stringify([scope, requests])
  useEffect(() => {
    if (requests.length === 0) return
    const abort = new AbortController()
    const load = async ({ collection, label, ids }: ReferenceRequest) => {
      const { data } = await get<CursorPage<DataRow>>(rowsPath(scope, collection), {
        query: { 'id[in]': ids.map(String), fields: ['id', label], limit: ids.length },
        signal: abort.signal,
      })
      return data.map((row) => [`${collection}/${row.id}`, String(row[label])] as const)
    }
    Promise.all(requests.map(load)).then(
      (entries) => setNames(new Map(entries.flat())),
      (error) => {
        if (!abort.signal.aborted && !(error instanceof ApiFailure)) throw error
      },
    )
    return () => abort.abort()
  }, [key])
  return (collection, id) => names.get(`${collection}/${id}`)
}
