/** Errors of the file system in words. */
export const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
}

/** An error of the file system in a few words. */
export const reasonOf = (error: unknown): string => {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return reasons[code] ?? (error as Error).message
}
