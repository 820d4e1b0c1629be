/** Whether a lock file pins the content of every package it would download. Pure. */

interface LockedPackage {
  readonly link?: boolean
  readonly inBundle?: boolean
  readonly integrity?: string
}

export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

/** Paths of packages without a SHA-512. Workspaces and what travels inside another need none. */
export const withoutIntegrity = ({ packages }: LockFile): string[] =>
  Object.entries(packages)
    .filter(([path, { link, inBundle }]) => path.includes('node_modules/') && !link && !inBundle)
    .filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))
    .map(([path]) => path)
