/** The versions of the service, newest first, for filters and figures. */
import { useLoaded } from '../loaded.ts'
import type { Page, VersionRow } from './api-shapes.ts'

const numberOf = ({ version }: VersionRow): number => Number(version.replace(/\D/g, ''))

export function useVersions(): readonly VersionRow[] {
  const { data } = useLoaded<Page<VersionRow>>('/admin/versions')
  return [...(data?.data ?? [])].sort((a, b) => numberOf(b) - numberOf(a))
}

/** Returns the path that any key may read, in the newest version. */
export function useKeyProbePath(): string {
  const newest = useVersions().find(({ state }) => state !== 'retired')
  return newest ? `/api/${newest.version}/protected` : '/api/protected'
}
