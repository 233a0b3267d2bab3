/** The properties of a dialog that, with unsaved input, only its buttons close: a click outside or Escape would discard the input. */
export const keepsInput = (hasUnsavedInput: boolean) => ({ closeOnClickOutside: !hasUnsavedInput, closeOnEscape: !hasUnsavedInput })
