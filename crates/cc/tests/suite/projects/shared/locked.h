#ifndef LOCKED_H
#define LOCKED_H
#ifdef __cplusplus
extern "C" {
#endif
int locked_add(int amount);
#ifdef __cplusplus
}
#endif
#endif
