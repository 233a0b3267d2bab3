/** What one setting is: its name, default, validation and description. The settings are in config.ts and sign-in-settings.ts. */

/** `read` returns undefined for a text that is not accepted, or throws BadValue with a specific reason. */
export type Setting<Value> = {
  name: string
  /** Parsed like a set value. Without it, the setting has no value unless it is set. */
  initial?: string
  meaning: string
  /** Completes the sentence "must be …". */
  accepted: string
  read: (text: string) => Value | undefined
  secret?: true
  /** The part of a secret that may be shown. */
  shown?: (text: string) => string
  /**
   * With DATABASE_URL, other machines share the stored data: `required` settings must then be set, and any other text is the default for
   * this case.
   */
  shared?: 'required' | 'off'
  /** The file in the data folder that holds a generated value if the setting is absent. */
  file?: 'admin.token' | 'encryption.key'
}
