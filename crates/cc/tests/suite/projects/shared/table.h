#ifndef TABLE_H
#define TABLE_H
#ifdef __cplusplus
extern "C" {
#endif
int table_sum(int from, int to);
int table_size(void);
#ifdef __cplusplus
}
#endif
#endif
