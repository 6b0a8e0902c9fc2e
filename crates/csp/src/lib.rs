//! CSP processes, CSPm, trace refinement.
